import type { HttpRequest, HttpResponse } from './http-client.ts'
import {
  type KnownAgent,
  type KnownConnection,
  type KnownToken,
  type Ledger,
  mayBeLost,
  removeLiveToken,
} from './ledger.ts'
import { jsonObject, type RefusalForm } from './refusal.ts'

export interface Attempt {
  readonly sent: HttpRequest
  /** Instead of that of its operation. */
  readonly form?: RefusalForm
  /**
   * Checks a response other than 503, and records a right one in the ledger.
   *
   * @returns what is wrong with it; undefined when it is right
   */
  read(response: HttpResponse): string | undefined
  /** Called after any response. */
  release?(): void
}

export function describeUnexpected({ status, text }: HttpResponse): string {
  if (status === 0) return `no answer (${text})`
  const { code, error = '' } = jsonObject(text)
  return `${status} ${JSON.stringify(code ?? error).replaceAll('"', '')}`.trim()
}

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

export function withOwner(owner: KnownAgent | KnownConnection, attempt: Attempt): Attempt {
  owner.busy += 1
  return {
    ...attempt,
    release() {
      owner.busy -= 1
    },
  }
}

export function recordToken(ledger: Ledger, token: KnownToken, response: HttpResponse): void {
  ledger.tokens.push(token)
  if (!mayBeLost(ledger, token, response.endedAt)) ledger.liveTokens.push(token)
}

export function removeLiveTokens(ledger: Ledger, owner: KnownToken['owner']): KnownToken[] {
  const tokens = ledger.liveTokens.filter((token) => token.owner === owner)
  for (const token of tokens) removeLiveToken(ledger, token)
  return tokens
}
