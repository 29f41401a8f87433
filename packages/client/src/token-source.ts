import type { Token } from './api-types.ts'
import { PlainpathError } from './plainpath-error.ts'

/** Tokens are renewed this long before they expire, so that they do not expire during a request. */
const RENEWAL_MARGIN_MS = 60_000
/** After a failed token request, calls that need no token request none for this long. */
const FAILURE_PAUSE_MS = 30_000

/**
 * Caches one access token in memory, and renews it on demand. Concurrent callers share one token request. A token whose
 * lifetime is at most `RENEWAL_MARGIN_MS` is not reused: each later call requests a new one.
 */
export class TokenSource {
  readonly #requestToken: () => Promise<Token>
  #cached: { readonly token: string; readonly renewAt: number } | undefined
  #pendingRenewal: Promise<string> | undefined
  /** The time until which `getOptional` requests no token. */
  #pausedUntil = 0

  constructor(requestToken: () => Promise<Token>) {
    this.#requestToken = requestToken
  }

  /** Returns the cached token, or requests a new one. A failed request is not cached: the next call sends another. */
  async get(): Promise<string> {
    if (this.#cached && performance.now() < this.#cached.renewAt) return this.#cached.token
    this.#pendingRenewal ??= this.#renew().finally(() => {
      this.#pendingRenewal = undefined
    })
    return this.#pendingRenewal
  }

  /** Returns a token like `get`, or undefined if the request for it fails or another one failed within the last 30 seconds. */
  async getOptional(): Promise<string | undefined> {
    if (performance.now() < this.#pausedUntil) return undefined
    try {
      return await this.get()
    } catch (error) {
      if (!(error instanceof PlainpathError)) throw error
      this.#pausedUntil = performance.now() + FAILURE_PAUSE_MS
      return undefined
    }
  }

  /** Removes a token that the API refused from the cache, unless a new token has already replaced it. */
  drop(refusedToken: string): void {
    if (this.#cached?.token === refusedToken) this.#cached = undefined
  }

  async #renew(): Promise<string> {
    const requestedAt = performance.now()
    const { access_token: token, expires_in } = await this.#requestToken()
    this.#cached = { token, renewAt: requestedAt + Math.max(expires_in * 1000 - RENEWAL_MARGIN_MS, 0) }
    return token
  }
}
