# The binary and nothing else. It carries its own time zones; the certificates are for TLS to the database.
#
#   docker build -t earshot .
#   docker run --rm earshot version

FROM golang:1.26 AS build
WORKDIR /src
# Modules first: they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
# With .git, from which Go reads the version.
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /earshot ./cmd/earshot

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /earshot /earshot
USER 65532:65532
# Inside a container 127.0.0.1 would be reached by nobody.
ENV EARSHOT_LISTEN=0.0.0.0:8080
EXPOSE 8080
ENTRYPOINT ["/earshot"]
CMD ["serve"]
