import { connect, Socket } from 'node:net'
import type { Fault } from './fault.ts'
import { random } from './random.ts'

/** A connection through a proxy. A direction that has lost bytes forwards no more bytes, even after the fault ends. */
export interface Link {
  /** Applies the current fault to this connection. Call it whenever the fault changes. */
  applyFault(): void
  /** Resets both sides of the connection. */
  reset(): void
}

/** One direction of a link. */
interface Direction {
  readonly from: Socket
  readonly to: Socket
  readonly carriesReplies: boolean
  readonly queue: { readonly dueAt: number; act(): void }[]
  /** True if the direction discards all bytes. */
  isLost: boolean
  /** The number of bytes that passed under `cut-after` since the last change of the fault. */
  passedBytes: number
  timer?: NodeJS.Timeout
}

/**
 * Opens the connection to the server and passes bytes between the two sides.
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
  /** Called with the number of bytes in each discarded chunk. */
  onLost(bytes: number): void
  /** Called whenever both sides were reset, possibly several times. */
  onClosed(): void
}): Link {
  const { client, target, getFault } = options
  // A client that connects during such a fault is never connected to the server, not even after the fault ends.
  const isNeverConnected = ['half-open', 'hang-new'].includes(getFault().kind)
  const upstream = isNeverConnected
    ? new Socket()
    : connect({ ...target, allowHalfOpen: true, noDelay: true })
  const directions = [
    createDirection(client, upstream, isNeverConnected),
    { ...createDirection(upstream, client, isNeverConnected), carriesReplies: true },
  ]
  /** True once the fault has hidden an end. When such a fault is over, the connection is reset. */
  let hasHiddenEnd = false

  function reset(): void {
    for (const { from, timer } of directions) {
      clearTimeout(timer)
      // A reset would wait until a connecting socket is connected.
      if (from.connecting || from.pending) from.destroy()
      else from.resetAndDestroy()
    }
    options.onClosed()
  }
  /** Forwards the end of one side to the other, unless the fault hides it. */
  function forwardEnd(act: () => void): void {
    if (getFault().kind === 'half-open' || (isNeverConnected && getFault().kind === 'hang-new'))
      hasHiddenEnd = true
    else act()
  }

  for (const direction of directions) {
    direction.from.on('data', (chunk: Buffer) => {
      const { kind } = getFault()
      if (!direction.carriesReplies) options.onRequest(chunk)
      direction.isLost ||= kind === 'half-open' || (kind === 'drop-replies' && direction.carriesReplies)
      if (startsReplyLoss(getFault(), direction, chunk))
        for (const each of directions) each.isLost ||= each.carriesReplies
      if (direction.isLost) options.onLost(chunk.length)
      else schedule(direction, getFault(), () => forwardChunk(direction, chunk, getFault(), reset))
    })
    direction.from.on('end', () =>
      forwardEnd(() =>
        isNeverConnected ? reset() : schedule(direction, getFault(), () => direction.to.end()),
      ),
    )
    // The event `close` follows, and resets both sides unless the fault hides it. Without a listener, an error would end this
    // process.
    direction.from.on('error', () => {})
    direction.from.on('close', (hadError) =>
      forwardEnd(() => {
        if (hadError || directions.every(({ from }) => from.destroyed)) reset()
      }),
    )
  }

  return {
    reset,
    applyFault() {
      const { kind } = getFault()
      const hidesEnds = ['half-open', 'hang-new'].includes(kind)
      if (kind === 'reset' || kind === 'refuse' || (hasHiddenEnd && !hidesEnds)) return reset()
      for (const direction of directions) {
        direction.passedBytes = 0
        if (kind === 'stop-reading') direction.from.pause()
        else direction.from.resume()
      }
    },
  }
}

const createDirection = (from: Socket, to: Socket, isLost: boolean): Direction => ({
  from,
  to,
  carriesReplies: false,
  queue: [],
  isLost,
  passedBytes: 0,
})

/** Returns true if this chunk contains the request after which `lose-reply-to` discards all replies. */
const startsReplyLoss = (fault: Fault, { carriesReplies }: Direction, chunk: Buffer) =>
  fault.kind === 'lose-reply-to' && !carriesReplies && chunk.includes(fault.request)

function forwardChunk(direction: Direction, chunk: Buffer, fault: Fault, reset: () => void): void {
  if (fault.kind !== 'cut-after' || !direction.carriesReplies) return void direction.to.write(chunk)
  const part = chunk.subarray(0, fault.bytes - direction.passedBytes)
  direction.passedBytes += part.length
  direction.to.write(part, () => {
    if (direction.passedBytes >= fault.bytes) reset()
  })
}

/** Runs an action after the fault's latency, and after all earlier actions of the direction. Other faults add no delay. */
function schedule(direction: Direction, fault: Fault, act: () => void): void {
  const now = performance.now()
  const delayMs = fault.kind === 'latency' ? fault.ms + (random() * 2 - 1) * fault.jitterMs : 0
  const dueAt = Math.max(now + delayMs, direction.queue.at(-1)?.dueAt ?? 0)
  if (dueAt <= now && direction.queue.length === 0) return act()
  direction.queue.push({ dueAt, act })
  if (direction.queue.length === 1) drain(direction)
}

/** Runs the queued actions of a direction in order, each when it is due. */
function drain(direction: Direction): void {
  const [next] = direction.queue
  if (!next) return
  const deliver = () => {
    next.act()
    direction.queue.shift()
    drain(direction)
  }
  // oxlint-disable-next-line no-restricted-globals -- the delay is the injected latency
  direction.timer = setTimeout(deliver, Math.max(0, next.dueAt - performance.now()))
}
