package cli

import (
	"strings"

	"sidecar/internal/config"
	"sidecar/internal/shell"
)

// usualConfig is the configuration file that is read unless -c names another.
const usualConfig = "sidecar.toml"

// sidecarLine is the command line, for a person to copy into a shell, that runs sidecar with these words on this configuration.
func sidecarLine(cfg *config.Config, words ...string) string {
	if cfg.Path != usualConfig {
		words = append(words, "-c", cfg.Path)
	}
	line := []string{"sidecar"}
	for _, word := range words {
		line = append(line, shell.Word(word))
	}
	return strings.Join(line, " ")
}
