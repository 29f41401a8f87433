/**
 * What a proxy does to the connections through it.
 *
 * `latency` delays each way by `ms`, give or take `jitterMs`, in order. `refuse` closes the port and resets what is open.
 * `half-open` accepts and never forwards, and tells neither side that the other has gone. `stop-reading` reads nothing, so
 * that what was sent arrives late. `reset` resets what is open and whatever comes. `drop-replies` lets requests through
 * and loses the answers. `cut-after` resets a connection once so many bytes of replies went through it. `hang-new` leaves
 * alone what is open, accepts what is new and forwards nothing of it. `lose-reply-to` loses what answers the first request
 * with these bytes in it, and all that follows on its connection.
 */
export type Fault =
  | { readonly kind: 'pass' | 'refuse' | 'half-open' | 'stop-reading' | 'reset' | 'drop-replies' }
  | { readonly kind: 'latency'; readonly ms: number; readonly jitterMs: number }
  | { readonly kind: 'cut-after'; readonly bytes: number }
  | { readonly kind: 'hang-new' }
  | { readonly kind: 'lose-reply-to'; readonly request: string }
