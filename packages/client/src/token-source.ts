import type { Token } from './api-types.ts'

/** A token is replaced this long before it expires, so that it does not expire on its way. */
const MARGIN_MS = 60_000

/** Keeps one access token in memory, and gets the next one when it is needed. Concurrent callers share one request. */
export class TokenSource {
  readonly #request: () => Promise<Token>
  #current: { readonly value: string; readonly renewAt: number } | undefined
  #pending: Promise<string> | undefined

  constructor(request: () => Promise<Token>) {
    this.#request = request
  }

  async get(): Promise<string> {
    if (this.#current && performance.now() < this.#current.renewAt) return this.#current.value
    this.#pending ??= this.#renew().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  /** Forgets a token that the API refused; not one that has replaced it since. */
  drop(refused: string): void {
    if (this.#current?.value === refused) this.#current = undefined
  }

  async #renew(): Promise<string> {
    const askedAt = performance.now()
    const { access_token: value, expires_in } = await this.#request()
    this.#current = { value, renewAt: askedAt + Math.max(expires_in * 1000 - MARGIN_MS, 0) }
    return value
  }
}
