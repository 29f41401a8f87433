/**
 * A fault that a proxy injects into its connections.
 *
 * - `latency` delays each direction by `ms` ± `jitterMs`, in order.
 * - `refuse` closes the port and resets open connections.
 * - `half-open` accepts connections, forwards nothing, and hides from each side that the other has closed.
 * - `stop-reading` reads nothing, so that data arrives late.
 * - `reset` resets open and new connections.
 * - `drop-replies` forwards requests and discards replies.
 * - `cut-after` resets a connection after so many bytes of replies.
 * - `hang-new` forwards nothing on new connections, and does not affect open ones.
 * - `lose-reply-to` discards the reply to the first request with these bytes, and all that follows on its connection.
 */
export type Fault =
  | { readonly kind: 'pass' | 'refuse' | 'half-open' | 'stop-reading' | 'reset' | 'drop-replies' }
  | { readonly kind: 'latency'; readonly ms: number; readonly jitterMs: number }
  | { readonly kind: 'cut-after'; readonly bytes: number }
  | { readonly kind: 'hang-new' }
  | { readonly kind: 'lose-reply-to'; readonly request: string }
