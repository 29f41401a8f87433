import { connect, Socket } from 'node:net'
import type { Fault } from './fault.ts'
import { random } from './random.ts'

/** One connection through a proxy. After it has lost bytes it stays silent until its owner closes it, even if the fault ends. */
export interface Link {
  /** Applies the current fault, after it has changed. */
  changed(): void
  reset(): void
}

interface Lane {
  readonly from: Socket
  readonly to: Socket
  readonly carriesReplies: boolean
  readonly waiting: { readonly at: number; act(): void }[]
  lost: boolean
  passedBytes: number
  timer?: NodeJS.Timeout
}

/**
 * @param options.client accepted with `allowHalfOpen`
 * Opens the connection to the server and passes bytes between both sides.
 *
 * @param options.fault returns the current fault
 */
export function openLink(options: {
  client: Socket
  target: { readonly host: string; readonly port: number }
  fault(): Fault
  /** Called with what clients send, before a fault applies to it. */
  onRequest(bytes: Buffer): void
  onLost(bytes: number): void
  onClosed(): void
}): Link {
  const { client, target, fault } = options
  // A connection that is accepted while nothing is forwarded never reaches a server, not even later.
  const silent = ['half-open', 'hang-new'].includes(fault().kind)
  const upstream = silent ? new Socket() : connect({ ...target, allowHalfOpen: true, noDelay: true })
  const lanes = [lane(client, upstream, silent), { ...lane(upstream, client, silent), carriesReplies: true }]
  let unnoticed = false

  function reset(): void {
    for (const { from, timer } of lanes) {
      clearTimeout(timer)
      if (from.connecting || from.pending) from.destroy()
      else from.resetAndDestroy()
    }
    options.onClosed()
  }
  /** While nothing is forwarded, the end of a connection is not forwarded either. */
  function noticed(act: () => void): void {
    if (fault().kind === 'half-open' || (silent && fault().kind === 'hang-new')) unnoticed = true
    else act()
  }

  for (const each of lanes) {
    each.from.on('data', (chunk: Buffer) => {
      const { kind } = fault()
      if (!each.carriesReplies) options.onRequest(chunk)
      each.lost ||= kind === 'half-open' || (kind === 'drop-replies' && each.carriesReplies)
      if (asksFor(fault(), each, chunk)) for (const lane of lanes) lane.lost ||= lane.carriesReplies
      if (each.lost) options.onLost(chunk.length)
      else later(each, fault(), () => pass(each, chunk, fault(), reset))
    })
    each.from.on('end', () => noticed(() => (silent ? reset() : later(each, fault(), () => each.to.end()))))
    each.from.on('error', () => {})
    each.from.on('close', (hadError) =>
      noticed(() => {
        if (hadError || lanes.every(({ from }) => from.destroyed)) reset()
      }),
    )
  }

  return {
    reset,
    changed() {
      const { kind } = fault()
      if (kind === 'reset' || kind === 'refuse' || (unnoticed && !['half-open', 'hang-new'].includes(kind)))
        return reset()
      for (const each of lanes) {
        each.passedBytes = 0
        if (kind === 'stop-reading') each.from.pause()
        else each.from.resume()
      }
    },
  }
}

const lane = (from: Socket, to: Socket, lost: boolean): Lane => ({
  from,
  to,
  carriesReplies: false,
  waiting: [],
  lost,
  passedBytes: 0,
})

const asksFor = (fault: Fault, { carriesReplies }: Lane, chunk: Buffer) =>
  fault.kind === 'lose-reply-to' && !carriesReplies && chunk.includes(fault.request)

function pass(each: Lane, chunk: Buffer, fault: Fault, reset: () => void): void {
  if (fault.kind !== 'cut-after' || !each.carriesReplies) return void each.to.write(chunk)
  const part = chunk.subarray(0, fault.bytes - each.passedBytes)
  each.passedBytes += part.length
  each.to.write(part, () => {
    if (each.passedBytes >= fault.bytes) reset()
  })
}

/** Acts after the latency, and never before an earlier action on the same lane. */
function later(each: Lane, fault: Fault, act: () => void): void {
  const now = performance.now()
  const delay = fault.kind === 'latency' ? fault.ms + (random() * 2 - 1) * fault.jitterMs : 0
  const at = Math.max(now + delay, each.waiting.at(-1)?.at ?? 0)
  if (at <= now && each.waiting.length === 0) return act()
  each.waiting.push({ at, act })
  if (each.waiting.length === 1) drain(each)
}

function drain(each: Lane): void {
  const [next] = each.waiting
  if (!next) return
  const deliveryTime = () => {
    next.act()
    each.waiting.shift()
    drain(each)
  }
  // oxlint-disable-next-line no-restricted-globals -- delays what it passes on
  each.timer = setTimeout(deliveryTime, Math.max(0, next.at - performance.now()))
}
