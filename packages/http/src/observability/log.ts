import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { traceFields } from '@plainpath/tracing'
import pino from 'pino'
import { describeError } from './describe-error.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** One JSON object a line. Fields are names, numbers and our own ids: never an address, a token or a query string. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Somebody watches it: reads are told one by one, and not only those that say something. */
  readonly logsEveryRead?: true
  /** Resolves once all that was said is written, or after a bound; absent where nothing waits to be. */
  flush?(): Promise<void>
}

/**
 * @param write takes one line; standard output when absent, for which no request waits: where nobody reads it, lines are
 *   dropped, and how many is said when somebody does
 */
export function createLog(options: { service: string; level?: string; write?: (line: string) => void }): Log {
  const output: Pick<StandardOutput, 'write'> & Partial<StandardOutput> = options.write
    ? { write: options.write }
    : standardOutput((lines) => logger.warn({ lines }, 'log lines were dropped: nobody read them in time'))
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: { service: options.service },
      mixin: traceFields,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    output,
  )
  const at =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) =>
      logger[level](fields, message)
  const { flush } = output
  return { info: at('info'), warn: at('warn'), error: at('error'), ...(flush && { flush }) }
}

/** What may wait for whoever reads standard output; what is more is dropped, and counted. */
const MOST_WAITING_BYTES = 1024 * 1024
/** Lines are written together, since each write is work for two threads: whichever of these comes first. */
const WRITTEN_BYTES = 8 * 1024
const WRITTEN_AFTER_MS = 50
const FLUSH_MS = 1_000

interface StandardOutput {
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
function standardOutput(tellDropped: (lines: number) => void): StandardOutput {
  const bounds = { minLength: WRITTEN_BYTES, maxLength: MOST_WAITING_BYTES }
  const output = pino.destination({ fd: 1, sync: false, ...bounds })
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

/**
 * What each line of a log says. What is before the object is passed over, as the names of pods that some readers of logs
 * put there, and so are lines without one.
 *
 * @param file its path, or `-` for standard input
 * @throws {Error} of the file system
 */
export async function* readLog(file: string): AsyncGenerator<object> {
  const lines = file === '-' ? createInterface({ input: process.stdin }) : (await open(file)).readLines()
  for await (const line of lines) {
    const said = objectIn(line)
    if (said) yield said
  }
}

function objectIn(line: string): object | undefined {
  const from = line.indexOf('{')
  if (from < 0) return undefined
  try {
    return JSON.parse(line.slice(from)) as object
  } catch {
    return undefined
  }
}
