import { Problem } from '@plainpath/http'

/** Headers with a Basic challenge. Every 401 needs a challenge (RFC 9110 §11.6.1). */
export const BASIC_CHALLENGE_HEADERS = { 'www-authenticate': 'Basic realm="plainpath", charset="UTF-8"' }

/**
 * Creates the problem for a client that was not authenticated.
 *
 * @param detail the fault, if the client may learn it; by default, the general text of the problem
 */
export const createInvalidClientProblem = (detail?: string) =>
  new Problem('invalid-client', { ...(detail && { detail }), headers: BASIC_CHALLENGE_HEADERS })
