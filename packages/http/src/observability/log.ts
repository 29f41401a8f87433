import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { traceFields } from '@plainpath/tracing'
import pino from 'pino'
import { describeError } from './describe-error.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** Writes one JSON object per line. Fields are names, numbers and our own ids: never an address, a token or a query string. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A person watches the log, so every read is logged and not only a sample. */
  readonly logsEveryRead?: true
  /** Resolves when all lines are written, or after a time limit. Absent from a log that writes at once. */
  flush?(): Promise<void>
}

/**
 * Creates the log of a process.
 *
 * @param options.write receives one line; standard output when absent. No request waits for standard output: lines are dropped
 *   while nobody reads it, and their number is logged afterwards.
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

/** Lines may wait for the reader of standard output up to this size. Further lines are dropped and counted. */
const MOST_WAITING_BYTES = 1024 * 1024
/** Lines are written in batches, since each write is work for two threads. Whichever of these limits is reached first. */
const WRITTEN_BYTES = 8 * 1024
const WRITTEN_AFTER_MS = 50
const FLUSH_MS = 1_000

interface StandardOutput {
  write(line: string): void
  /** Resolves when all lines are written, or after a second if nobody reads them. */
  flush(): Promise<void>
}

/**
 * Writes lines to standard output without blocking. A process that exits writes the remaining lines; one that is killed
 * with SIGKILL loses those of the last 50 ms.
 *
 * @param onDropped called with the number of dropped lines once there is room again
 */
function standardOutput(onDropped: (lines: number) => void): StandardOutput {
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
  // For example a full disk. Unhandled, the error would end the process, and its last flush would wait for the disk for ever.
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
    // Lines that arrived while the last ones were being written.
    if (waitingBytes > 0) writeSoon()
    if (dropped === 0) return
    const lines = dropped
    dropped = 0
    onDropped(lines)
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
 * Reads the JSON object of each line of a log. Skips lines without an object, and text before the object, such as the pod
 * names that some log readers add.
 *
 * @param file the path, or `-` for standard input
 * @throws {Error} of the file system
 */
export async function* readLog(file: string): AsyncGenerator<object> {
  const lines = file === '-' ? createInterface({ input: process.stdin }) : (await open(file)).readLines()
  for await (const line of lines) {
    const object = parseObject(line)
    if (object) yield object
  }
}

function parseObject(line: string): object | undefined {
  const from = line.indexOf('{')
  if (from < 0) return undefined
  try {
    return JSON.parse(line.slice(from)) as object
  } catch {
    return undefined
  }
}
