import { once } from 'node:events'
import pino from 'pino'

/** What may wait for whoever reads standard output; what is more is dropped, and counted. */
const MOST_WAITING_BYTES = 1024 * 1024
/** Lines are written together, since each write is work for two threads: whichever of these comes first. */
const WRITTEN_BYTES = 8 * 1024
const WRITTEN_AFTER_MS = 50
const FLUSH_MS = 1_000

export interface StandardOutput {
  write(line: string): void
  /** Resolves once all lines are written, and after a second when nobody reads them. */
  flush(): Promise<void>
}

/**
 * Writes lines to standard output, for which nobody waits. A process that ends, however it comes to that, writes what is
 * left; one that is killed at once loses the lines of the last 50 ms.
 *
 * @param tellDropped told how many lines were dropped, once there is room again
 */
export function standardOutput(tellDropped: (lines: number) => void): StandardOutput {
  const output = pino.destination({
    ...{ fd: 1, sync: false },
    ...{ minLength: WRITTEN_BYTES, maxLength: MOST_WAITING_BYTES },
  })
  let waitingBytes = 0
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  function writeSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      output.flush()
    }, WRITTEN_AFTER_MS).unref()
  }
  const { flushSync } = output
  // Such as a disk that is full: unheard, it would end the process, which would then wait for the disk for good.
  output.on('error', () => {
    output.flushSync = () => undefined
  })
  output.on('write', (bytes: number) => {
    output.flushSync = flushSync
    waitingBytes -= bytes
  })
  output.on('drop', (line: string) => {
    waitingBytes -= Buffer.byteLength(line)
    dropped += 1
  })
  output.on('drain', () => {
    // What came while the last lines were being written.
    if (waitingBytes > 0) writeSoon()
    if (dropped === 0) return
    const lines = dropped
    dropped = 0
    tellDropped(lines)
  })
  output.on('close', () => clearTimeout(timer))
  return {
    write(line) {
      waitingBytes += Buffer.byteLength(line)
      output.write(line)
      writeSoon()
    },
    async flush() {
      const late = AbortSignal.timeout(FLUSH_MS)
      while (waitingBytes > 0 && !late.aborted) {
        output.flush()
        await once(output, 'drain', { signal: late }).catch(() => undefined)
      }
    },
  }
}
