/**
 * A fault that a proxy injects into its connections.
 *
 * - `pass` forwards everything.
 * - `latency` delays each direction by `ms` ± `jitterMs`, and keeps the order.
 * - `refuse` closes the port and resets open connections.
 * - `half-open` accepts connections, forwards nothing, and hides from each side that the other has closed.
 * - `stop-reading` reads nothing, so that data arrives late.
 * - `reset` resets open and new connections.
 * - `drop-replies` forwards requests and discards replies.
 * - `cut-after` resets a connection once `bytes` bytes of replies have passed.
 * - `hang-new` forwards nothing on new connections, and does not affect open ones.
 * - `lose-reply-to` discards the reply to the first request on a connection that contains these bytes, and all later
 *   replies on the connection. It forwards all requests.
 */
export type Fault =
  | { readonly kind: 'pass' | 'refuse' | 'half-open' | 'stop-reading' | 'reset' | 'drop-replies' }
  | { readonly kind: 'latency'; readonly ms: number; readonly jitterMs: number }
  | { readonly kind: 'cut-after'; readonly bytes: number }
  | { readonly kind: 'hang-new' }
  | { readonly kind: 'lose-reply-to'; readonly request: string }
