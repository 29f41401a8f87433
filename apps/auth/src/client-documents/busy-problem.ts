import { Problem } from '@plainpath/http'

/** The `Retry-After` while too many documents are being fetched. A request to the host of a document takes at most this long. */
const RETRY_SECONDS = 2

/** Creates the problem for a request whose document is not fetched because too many others are being fetched. */
export const createBusyProblem = (): Problem =>
  new Problem('rate-limited', {
    detail: `Too many documents are being fetched. Try again in ${RETRY_SECONDS} seconds.`,
    headers: { 'retry-after': String(RETRY_SECONDS) },
  })
