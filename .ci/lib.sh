# shellcheck shell=bash
# What .ci/run, .ci/tools and .ci/db share. Sourced, never run.

# shellcheck disable=SC2034 # read by those who source this file
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Go tools live outside the tree, so a fresh clone does not build them again.
bin=${XDG_CACHE_HOME:-${HOME:?}/.cache}/earshot-tools/bin
export PATH="$bin:$PATH"

# A Go that was unpacked into its usual place but not put on the PATH.
if ! command -v go >/dev/null && [[ -x /usr/local/go/bin/go ]]; then
	export PATH="$PATH:/usr/local/go/bin"
fi

say() { printf '%s\n' "$*" >&2; }

die() {
	say "$(basename "$0"): $*"
	exit 1
}

as_root() {
	if ((EUID == 0)); then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -n "$@"
	else
		die "root is needed for: $*"
	fi
}

# debian PACKAGE… installs Debian packages. All output goes to standard error:
# callers print their result on standard output.
debian() {
	command -v apt-get >/dev/null || die "please install: $*"
	say "installing Debian packages: $*"
	as_root apt-get update -qq >&2
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}
