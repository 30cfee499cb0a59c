package main

import (
	"earshot/internal/analysis/provider"
)

// providerFlags set up a language model that reads texts, where somebody wants that.
type providerFlags struct {
	ProviderURL       string `name:"provider-url" env:"EARSHOT_PROVIDER_URL" placeholder:"URL" help:"Chat completions endpoint of a language model, OpenAI-compatible, that reads the texts that arrive once more; they are sent there (default none: nothing leaves)."`
	ProviderModel     string `env:"EARSHOT_PROVIDER_MODEL" placeholder:"NAME" help:"Its model."`
	ProviderKey       string `env:"EARSHOT_PROVIDER_KEY" placeholder:"KEY" help:"Its key, sent as a bearer token; better set in the environment than on the command line."`
	ProviderTimeout   string `env:"EARSHOT_PROVIDER_TIMEOUT" default:"20s" help:"How long one text may take it, with all attempts (default ${default})."`
	ProviderPerMinute string `env:"EARSHOT_PROVIDER_PER_MINUTE" default:"60" placeholder:"N" help:"Most requests a minute that one process sends it (default ${default})."`
}

// check reads the flags; nil when there is no provider.
func (f providerFlags) check(m *mistakes) *provider.Provider {
	config := provider.Config{
		URL: f.ProviderURL, Model: f.ProviderModel, Key: f.ProviderKey,
		Timeout:   m.duration("provider-timeout", f.ProviderTimeout),
		PerMinute: int(m.whole("provider-per-minute", f.ProviderPerMinute, 1, 100_000)),
	}
	if f.ProviderURL == "" {
		if f.ProviderModel != "" || f.ProviderKey != "" {
			m.add("provider-url", "is required where --provider-model or --provider-key is set")
		}
		return nil
	}
	p, err := provider.New(config)
	if err != nil {
		m.add("provider-url", "cannot be used: %v", err)
	}
	return p
}
