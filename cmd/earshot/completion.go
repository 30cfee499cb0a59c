package main

import (
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says how the script is loaded.
func (completionCmd) Help() string {
	return `Load it for this session, or put the line where the shell starts:

  bash: source <(earshot completion bash)

  zsh:  source <(earshot completion zsh)

  fish: earshot completion fish | source`
}

// Run prints the script.
func (c *completionCmd) Run(app *kong.Context, std streams) error {
	all := places(app.Model.Node, "")
	var paths, valued []string
	for _, p := range all[1:] {
		paths = append(paths, p.Path)
	}
	for _, p := range all {
		for _, w := range p.Words {
			if w.Valued && !slices.Contains(valued, w.Text) {
				valued = append(valued, w.Text)
			}
		}
	}
	return scripts.ExecuteTemplate(std.out, c.Shell, map[string]any{"Places": all, "Paths": paths, "Valued": valued})
}

// place is where a command line may stand: behind the commands of its path, "token list", where some words can follow.
type place struct {
	Path  string
	Words []word
}

// word is a command, a flag or one of a few values.
type word struct {
	Text, Help string
	Valued     bool // a flag that the next word belongs to
}

// Flag is the name of a flag, and empty for other words.
func (w word) Flag() string {
	name, ok := strings.CutPrefix(w.Text, "--")
	if !ok {
		return ""
	}
	return name
}

// places lists a command and those below it, itself first.
func places(node *kong.Node, path string) []place {
	here := place{Path: path}
	var below []place
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		here.Words = append(here.Words, word{Text: child.Name, Help: child.Help})
		below = append(below, places(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	for _, p := range node.Positional {
		if p.Enum == "" {
			continue
		}
		for _, value := range p.EnumSlice() {
			here.Words = append(here.Words, word{Text: value, Help: p.Help})
		}
	}
	flagged := node
	if node.DefaultCmd != nil { // its flags can follow at once
		flagged = node.DefaultCmd
	}
	for _, group := range flagged.AllFlags(true) {
		for _, f := range group {
			here.Words = append(here.Words, word{Text: "--" + f.Name, Help: f.Help, Valued: !f.IsBool()})
			if f.Tag.Negatable != "" {
				here.Words = append(here.Words, word{Text: "--no-" + f.Name, Help: f.Help})
			}
		}
	}
	return append([]place{here}, below...)
}

// scripts go along the words before the cursor as far as they are commands, and offer what can follow there. Behind a flag
// that takes a value they leave it to the shell, which offers files.
var scripts = template.Must(template.New("").Funcs(template.FuncMap{
	"join": strings.Join,
	// sh and fish quote a text for a shell. Only fish knows escapes between single quotes.
	"sh":   func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" },
	"fish": func(text string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'" },
}).Parse(`
{{- define "bash" -}}
# Completion of earshot for bash: source <(earshot completion bash)
_earshot() {
  local at='' words='' i
  COMPREPLY=()
  case ${COMP_WORDS[COMP_CWORD - 1]} in
  {{join .Valued " | "}} | =) return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${at:+$at }${COMP_WORDS[i]}" in
    {{range $i, $p := .Paths}}{{if $i}} | {{end}}{{sh $p}}{{end}}) at="${at:+$at }${COMP_WORDS[i]}" ;;
    esac
  done
  case $at in
{{- range .Places}}
  {{sh .Path}}) words='{{range $i, $w := .Words}}{{if $i}} {{end}}{{.Text}}{{end}}' ;;
{{- end}}
  esac
  # shellcheck disable=SC2207 # no word holds a space or a pattern
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _earshot earshot
{{end}}

{{- define "zsh" -}}
#compdef earshot
# Completion of earshot for zsh: source <(earshot completion zsh), after compinit
_earshot() {
  local at='' word
  local -a offered
  case ${words[CURRENT-1]} in
  ({{join .Valued "|"}}) _files; return ;;
  esac
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "${at:+$at }$word" in
    ({{range $i, $p := .Paths}}{{if $i}}|{{end}}{{sh $p}}{{end}}) at="${at:+$at }$word" ;;
    esac
  done
  case $at in
{{- range .Places}}
  ({{sh .Path}}) offered=({{range $i, $w := .Words}}{{if $i}} {{end}}{{sh (print .Text ":" .Help)}}{{end}}) ;;
{{- end}}
  esac
  _describe earshot offered
}
if [[ ${funcstack[1]} == _earshot ]]; then _earshot "$@"; else compdef _earshot earshot; fi
{{end}}

{{- define "fish" -}}
# Completion of earshot for fish: earshot completion fish | source
function __earshot_at
    set -l at
    for word in (commandline -opc)
        if contains -- (string join ' ' -- $at $word){{range .Paths}} {{fish .}}{{end}}
            set -a at $word
        end
    end
    test "$at" = "$argv[1]"
end
complete -c earshot -f
{{- range $p := .Places}}{{range .Words}}
complete -c earshot -n {{fish (print "__earshot_at '" $p.Path "'")}} {{with .Flag}}-l {{.}}{{else}}-a {{.Text}}{{end}}{{if .Valued}} -rF{{end}} -d {{fish .Help}}
{{- end}}{{end}}
{{end}}`))
