import type { HttpRequest, HttpResponse } from './http-client.ts'
import {
  type KnownAgent,
  type KnownConnection,
  type KnownToken,
  type Ledger,
  mayBeLost,
  removeLiveToken,
} from './ledger.ts'
import { parseJsonObject, type RefusalForm } from './refusal.ts'

/** A request, and the check of its response. */
export interface Attempt {
  readonly sent: HttpRequest
  /** Overrides the error format of the operation. */
  readonly form?: RefusalForm
  /**
   * Checks a response other than 503, and records a correct one in the ledger.
   *
   * @returns a description of the mistake in the response; undefined if it is correct
   */
  read(response: HttpResponse): string | undefined
  /** Called after any response. */
  release?(): void
}

/** Describes a response by its status and error code. */
export function describeUnexpected({ status, text }: HttpResponse): string {
  if (status === 0) return `no answer (${text})`
  const { code, error = '' } = parseJsonObject(text)
  return `${status} ${JSON.stringify(code ?? error).replaceAll('"', '')}`.trim()
}

export const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' }

/** Counts the attempt among its owner's requests in flight. */
export function withOwner(owner: KnownAgent | KnownConnection, attempt: Attempt): Attempt {
  owner.busy += 1
  return {
    ...attempt,
    release() {
      owner.busy -= 1
    },
  }
}

/** Records a token, which is live unless the store may have lost it. */
export function recordToken(ledger: Ledger, token: KnownToken, response: HttpResponse): void {
  ledger.tokens.push(token)
  if (!mayBeLost(ledger, token, response.endedAt)) ledger.liveTokens.push(token)
}

/** Removes an owner's tokens from the live ones, and returns them. */
export function removeLiveTokens(ledger: Ledger, owner: KnownToken['owner']): KnownToken[] {
  const tokens = ledger.liveTokens.filter((token) => token.owner === owner)
  for (const token of tokens) removeLiveToken(ledger, token)
  return tokens
}
