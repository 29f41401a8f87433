import { Problem } from '@plainpath/http'

/** RFC 6749 §5.2 requires it when the client used the header, RFC 9110 §11.6.1 in every 401. */
export const BASIC_CHALLENGE = { 'www-authenticate': 'Basic realm="plainpath", charset="UTF-8"' }

/** Creates the problem of a client that was not authenticated. @param detail what is wrong, for those who may know it */
export const invalidClient = (detail?: string) =>
  new Problem('invalid-client', { ...(detail && { detail }), headers: BASIC_CHALLENGE })
