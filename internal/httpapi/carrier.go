package httpapi

import (
	"net/http"

	"earshot/internal/account"
	"earshot/internal/carrier"
	"earshot/internal/fault"
)

func (s *Server) listCarriers(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	var form fault.Form
	query, err := readQuery(r, &form)
	if err != nil {
		return err
	}
	at := readPage(query)
	if err := form.Err(); err != nil {
		return err
	}
	carriers, total, err := s.Carriers.List(r.Context(), p.View(), at.offset(), at.perPage)
	if err != nil {
		return err
	}
	data := make([]wireCarrier, len(carriers))
	for i, c := range carriers {
		data[i] = wireCarrierOf(c)
	}
	return writeJSON(w, http.StatusOK, paginate(s, r, at, data, total))
}

type wireCarrier struct {
	ID         int64              `json:"id"`
	Name       string             `json:"name"`
	TeamID     int64              `json:"team_id"`
	ArchivedAt *stamp             `json:"archived_at"`
	CreatedAt  stamp              `json:"created_at"`
	Questions  []wireFullQuestion `json:"questions"`
}

type wireFullQuestion struct {
	ID         int64        `json:"id"`
	Name       string       `json:"name"`
	Order      int          `json:"order"`
	Type       carrier.Type `json:"type"`
	Required   int          `json:"required"`
	Max        *int16       `json:"max"`
	ArchivedAt *stamp       `json:"archived_at"`
	Options    []wireOption `json:"options"`
}

func wireCarrierOf(c carrier.Carrier) wireCarrier {
	out := wireCarrier{
		ID: c.ID, Name: c.Name, TeamID: c.TeamID, CreatedAt: stamp(c.CreatedAt), ArchivedAt: optionalStamp(c.ArchivedAt),
		Questions: make([]wireFullQuestion, len(c.Questions)),
	}
	for i, q := range c.Questions {
		options := make([]wireOption, 0, len(q.Options))
		for _, o := range q.Options {
			if o.ArchivedAt == nil { // what may be answered
				options = append(options, wireOption{ID: o.ID, Name: o.Name})
			}
		}
		out.Questions[i] = wireFullQuestion{
			ID: q.ID, Name: q.Name, Order: q.Position, Type: q.Type, Required: zeroOrOne(q.Required), Max: q.Max,
			ArchivedAt: optionalStamp(q.ArchivedAt), Options: options,
		}
	}
	return out
}
