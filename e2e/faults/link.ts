import { connect, Socket } from 'node:net'
import type { Fault } from './fault.ts'
import { random } from './random.ts'

/** A connection through a proxy. A direction that has lost bytes forwards no more bytes, even after the fault. */
export interface Link {
  /** Applies the current fault, after it has changed. */
  applyFault(): void
  /** Resets both sides. */
  reset(): void
}

/** One direction of a link. */
interface Lane {
  readonly from: Socket
  readonly to: Socket
  readonly carriesReplies: boolean
  readonly queue: { readonly dueAt: number; act(): void }[]
  /** True if the lane discards all bytes. */
  isLost: boolean
  /** The number of bytes that `cut-after` has let through. */
  passedBytes: number
  timer?: NodeJS.Timeout
}

/**
 * Opens the connection to the server and passes bytes between both sides.
 *
 * @param options.client accepted with `allowHalfOpen`
 * @param options.getFault returns the current fault
 */
export function openLink(options: {
  client: Socket
  target: { readonly host: string; readonly port: number }
  getFault(): Fault
  /** Called with each chunk from a client, before a fault applies to it. */
  onRequest(bytes: Buffer): void
  onLost(bytes: number): void
  onClosed(): void
}): Link {
  const { client, target, getFault } = options
  // A client that connects while the fault forwards nothing is never connected to the server, not even after the fault.
  const isSilent = ['half-open', 'hang-new'].includes(getFault().kind)
  const upstream = isSilent ? new Socket() : connect({ ...target, allowHalfOpen: true, noDelay: true })
  const lanes = [
    createLane(client, upstream, isSilent),
    { ...createLane(upstream, client, isSilent), carriesReplies: true },
  ]
  let hasHiddenEnd = false

  function reset(): void {
    for (const { from, timer } of lanes) {
      clearTimeout(timer)
      if (from.connecting || from.pending) from.destroy()
      else from.resetAndDestroy()
    }
    options.onClosed()
  }
  /** Forwards the end of one side to the other, unless the fault hides it. */
  function forwardEnd(act: () => void): void {
    if (getFault().kind === 'half-open' || (isSilent && getFault().kind === 'hang-new')) hasHiddenEnd = true
    else act()
  }

  for (const lane of lanes) {
    lane.from.on('data', (chunk: Buffer) => {
      const { kind } = getFault()
      if (!lane.carriesReplies) options.onRequest(chunk)
      lane.isLost ||= kind === 'half-open' || (kind === 'drop-replies' && lane.carriesReplies)
      if (containsRequest(getFault(), lane, chunk))
        for (const each of lanes) each.isLost ||= each.carriesReplies
      if (lane.isLost) options.onLost(chunk.length)
      else schedule(lane, getFault(), () => forwardChunk(lane, chunk, getFault(), reset))
    })
    lane.from.on('end', () =>
      forwardEnd(() => (isSilent ? reset() : schedule(lane, getFault(), () => lane.to.end()))),
    )
    lane.from.on('error', () => {})
    lane.from.on('close', (hadError) =>
      forwardEnd(() => {
        if (hadError || lanes.every(({ from }) => from.destroyed)) reset()
      }),
    )
  }

  return {
    reset,
    applyFault() {
      const { kind } = getFault()
      const hidesEnds = ['half-open', 'hang-new'].includes(kind)
      if (kind === 'reset' || kind === 'refuse' || (hasHiddenEnd && !hidesEnds)) return reset()
      for (const lane of lanes) {
        lane.passedBytes = 0
        if (kind === 'stop-reading') lane.from.pause()
        else lane.from.resume()
      }
    },
  }
}

const createLane = (from: Socket, to: Socket, isLost: boolean): Lane => ({
  from,
  to,
  carriesReplies: false,
  queue: [],
  isLost,
  passedBytes: 0,
})

const containsRequest = (fault: Fault, { carriesReplies }: Lane, chunk: Buffer) =>
  fault.kind === 'lose-reply-to' && !carriesReplies && chunk.includes(fault.request)

function forwardChunk(lane: Lane, chunk: Buffer, fault: Fault, reset: () => void): void {
  if (fault.kind !== 'cut-after' || !lane.carriesReplies) return void lane.to.write(chunk)
  const part = chunk.subarray(0, fault.bytes - lane.passedBytes)
  lane.passedBytes += part.length
  lane.to.write(part, () => {
    if (lane.passedBytes >= fault.bytes) reset()
  })
}

/** Runs an action after the fault's latency, and after all earlier actions of the lane. */
function schedule(lane: Lane, fault: Fault, act: () => void): void {
  const now = performance.now()
  const delayMs = fault.kind === 'latency' ? fault.ms + (random() * 2 - 1) * fault.jitterMs : 0
  const dueAt = Math.max(now + delayMs, lane.queue.at(-1)?.dueAt ?? 0)
  if (dueAt <= now && lane.queue.length === 0) return act()
  lane.queue.push({ dueAt, act })
  if (lane.queue.length === 1) drain(lane)
}

/** Runs the queued actions of a lane in order, each when it is due. */
function drain(lane: Lane): void {
  const [next] = lane.queue
  if (!next) return
  const deliver = () => {
    next.act()
    lane.queue.shift()
    drain(lane)
  }
  // oxlint-disable-next-line no-restricted-globals -- the delay is the injected latency
  lane.timer = setTimeout(deliver, Math.max(0, next.dueAt - performance.now()))
}
