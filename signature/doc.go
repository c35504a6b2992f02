// Package signature decides from raw bytes, headers and time whether a delivery
// comes from its sender. It knows neither presets nor configuration files.
package signature
