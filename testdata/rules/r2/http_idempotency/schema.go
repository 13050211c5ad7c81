// Package schema keys requests by shop and key; the fingerprint tells whether a key is used for another request.
package schema
