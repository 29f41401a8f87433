import type { HttpRequest, HttpResponse } from './http-client.ts'
import {
  type KnownAgent,
  type KnownConnection,
  type KnownToken,
  type Ledger,
  mayBeLost,
  removeLiveToken,
} from './ledger.ts'
import { type ErrorFormat, parseJsonObject } from './refusal.ts'

/*
 * Helpers for the operations of the load (`operations.ts`, `connections.ts`). The ledger records which changes the
 * service acknowledged, so that `checkAcknowledged` can find lost ones after a fault.
 */

/** One attempt at an operation: a request, and the check of its response. */
export interface Attempt {
  readonly request: HttpRequest
  /** Overrides the error format of the operation. */
  readonly errorFormat?: ErrorFormat
  /**
   * Checks a response, and records in the ledger what it acknowledges. A refusal (503) counts as a mistake, so a
   * caller that expects refusals checks for them first, with `findRefusalMistake`.
   *
   * @returns a description of the mistake in the response; undefined if it is correct
   */
  check(response: HttpResponse): string | undefined
  /** Undoes what the attempt reserved. Call it once the request is no longer in flight. */
  release?(): void
}

/** Describes a response by its status and error code, or says why there is none. */
export function describeUnexpected({ status, text }: HttpResponse): string {
  if (status === 0) return `no response (${text})`
  const { code, error = '' } = parseJsonObject(text)
  return `${status} ${JSON.stringify(code ?? error).replaceAll('"', '')}`.trim()
}

export const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' }

/**
 * Increments the owner's requests in flight now. The `release` of the returned attempt decrements them, and replaces that of the
 * given attempt without calling it.
 */
export function trackRequestInFlight(owner: KnownAgent | KnownConnection, attempt: Attempt): Attempt {
  owner.requestsInFlight += 1
  return {
    ...attempt,
    release() {
      owner.requestsInFlight -= 1
    },
  }
}

/** Records a token. Adds it to `liveTokens` unless the store may have lost it between its request and the end of the response. */
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
