import { Problem } from '@plainpath/http'

/** The challenge that RFC 9110 §11.6.1 requires in every 401. */
export const BASIC_CHALLENGE = { 'www-authenticate': 'Basic realm="plainpath", charset="UTF-8"' }

/**
 * Creates the problem for a client that was not authenticated.
 *
 * @param detail the fault, if the client may learn it
 */
export const createInvalidClientProblem = (detail?: string) =>
  new Problem('invalid-client', { ...(detail && { detail }), headers: BASIC_CHALLENGE })
