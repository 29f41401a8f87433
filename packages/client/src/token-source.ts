import type { Token } from './api-types.ts'

/** Tokens are renewed this long before they expire, so that they do not expire during a request. */
const RENEWAL_MARGIN_MS = 60_000

/** Caches one access token in memory, and renews it on demand. Concurrent callers share one token request. */
export class TokenSource {
  readonly #requestToken: () => Promise<Token>
  #current: { readonly value: string; readonly renewAt: number } | undefined
  #pending: Promise<string> | undefined

  constructor(requestToken: () => Promise<Token>) {
    this.#requestToken = requestToken
  }

  /** Returns the cached token, or requests a new one. */
  async get(): Promise<string> {
    if (this.#current && performance.now() < this.#current.renewAt) return this.#current.value
    this.#pending ??= this.#renew().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  /** Forgets a token that the API refused, unless a new token has replaced it. */
  drop(refusedToken: string): void {
    if (this.#current?.value === refusedToken) this.#current = undefined
  }

  async #renew(): Promise<string> {
    const requestedAt = performance.now()
    const { access_token: value, expires_in } = await this.#requestToken()
    this.#current = { value, renewAt: requestedAt + Math.max(expires_in * 1000 - RENEWAL_MARGIN_MS, 0) }
    return value
  }
}
