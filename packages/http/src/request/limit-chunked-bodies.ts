import { formatCount } from '@plainpath/domain'
import type { Context } from 'koa'
import { createSlotCounter } from '../limits/slot-counter.ts'
import { Problem } from '../problems/problem.ts'
import { listNetworks } from './client-address.ts'

/*
 * Limits how many chunked bodies are read at the same time. The gateway reads a body with a `Content-Length` before it
 * chooses an instance, but it forwards a chunked body as it arrives. A client that sends one slowly occupies a
 * connection to this process until the request times out, however few requests its rate limits allow.
 */

/** The maximum for an IPv4 address or an IPv6 /64. An IPv6 /48 may have four times as many. */
const MAX_PER_NETWORK = 8
/** The maximum for all clients of this process. It is far below `maxConnections` of the server. */
const MAX_PER_PROCESS = 256
const RETRY_AFTER_SECONDS = 1

/** Counts the chunked bodies that are being read. */
const slots = createSlotCounter()

/**
 * Calls `read`, and counts the request until its chunked body has been read or its response is closed. A body with a
 * `Content-Length` is not counted, nor is one that has already arrived in full.
 *
 * @throws {Problem} `rate-limited` if the client's networks or this process have reached their maximum
 */
export async function limitChunkedBodies(ctx: Context, read: () => Promise<void>): Promise<void> {
  const isChunked = ctx.req.headers['transfer-encoding'] !== undefined
  if (!isChunked || ctx.req.complete || ctx.res.closed) return read()
  const freeSlots = slots.take([
    { name: 'process', max: MAX_PER_PROCESS },
    ...listNetworks(String(ctx.state['address'])).map(({ network, allowance }) => ({
      name: network,
      max: MAX_PER_NETWORK * allowance,
    })),
  ])
  if (!freeSlots) throw createTooManyBodiesProblem()
  // If `refuseUnreadable` responds to an interrupted or late body, Node never ends the body, so `read` does not return.
  ctx.res.once('close', freeSlots)
  await read().finally(freeSlots)
}

const createTooManyBodiesProblem = () =>
  new Problem('rate-limited', {
    detail:
      'Too many bodies without a Content-Length are being received. ' +
      `Send the body with a Content-Length, or try again in ${formatCount(RETRY_AFTER_SECONDS, 'second')}.`,
    // The rest of the body is not read, so the connection cannot be used for another request.
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS), connection: 'close' },
  })
