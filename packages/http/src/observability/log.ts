import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { MAX_CLOCK_SKEW_MS } from '@plainpath/domain'
import { getTraceFields } from '@plainpath/tracing'
import pino from 'pino'
import { describeError } from './describe-error.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** Writes one JSON object per line. Fields are names, numbers and our ids, not addresses, tokens or query strings. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** True if every read is logged, instead of a sample, because a person watches the log. */
  readonly logsEveryRead?: true
  /** Resolves when all lines are written, or after a second. Absent if the log writes immediately. */
  flush?(): Promise<void>
}

/**
 * Creates the log of a process.
 *
 * @param options.write writes one line; by default to standard output. No request waits for standard output: if nobody
 *   reads it in time, lines are dropped, and their number is logged afterwards
 */
export function createLog(options: { service: string; level?: string; write?: (line: string) => void }): Log {
  const output: Pick<StandardOutput, 'write'> & Partial<StandardOutput> = options.write
    ? { write: options.write }
    : createStandardOutput((lines) =>
        logger.warn({ lines }, 'log lines were dropped, because standard output was not read in time'),
      )
  const logger = pino(
    {
      level: options.level ?? 'info',
      base: { service: options.service },
      mixin: getTraceFields,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    output,
  )
  const logAt =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) =>
      logger[level](fields, message)
  const { flush } = output
  return { info: logAt('info'), warn: logAt('warn'), error: logAt('error'), ...(flush && { flush }) }
}

/** When nobody reads standard output and the buffer reaches this size, further lines are dropped and counted. */
const MAX_WAITING_BYTES = 1024 * 1024
/** Lines are written in batches of this size, or after this time, because each write keeps two threads busy. */
const BATCH_BYTES = 8 * 1024
const BATCH_MS = 50
const FLUSH_MS = 1_000

interface StandardOutput {
  write(line: string): void
  /** Resolves when all lines are written, or after a second if nobody reads them. */
  flush(): Promise<void>
}

/**
 * Writes lines to standard output without blocking. A process that exits writes the remaining lines. A process that is
 * killed with SIGKILL loses the lines of the last 50 ms.
 *
 * @param onDropped called with the number of dropped lines, once the buffer has room again
 */
function createStandardOutput(onDropped: (lines: number) => void): StandardOutput {
  const bounds = { minLength: BATCH_BYTES, maxLength: MAX_WAITING_BYTES }
  const output = pino.destination({ fd: 1, sync: false, ...bounds })
  let waitingBytes = 0
  let droppedLines = 0
  let timer: NodeJS.Timeout | undefined
  function writeSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      output.flush()
    }, BATCH_MS).unref()
  }
  const { flushSync } = output
  // Standard output may be a file on a full disk. Without this handler, the error would end the process, and the final
  // flush would wait for the disk forever.
  output.on('error', () => {
    output.flushSync = () => undefined
  })
  output.on('write', (bytes: number) => {
    output.flushSync = flushSync
    waitingBytes -= bytes
  })
  output.on('drop', (line: string) => {
    waitingBytes -= Buffer.byteLength(line)
    droppedLines += 1
  })
  output.on('drain', () => {
    // Some lines may have arrived while the last ones were being written.
    if (waitingBytes > 0) writeSoon()
    if (droppedLines === 0) return
    const lines = droppedLines
    droppedLines = 0
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
      const timeLimit = AbortSignal.timeout(FLUSH_MS)
      while (waitingBytes > 0 && !timeLimit.aborted) {
        output.flush()
        // `once` rejects at the time limit, which ends the loop, and on a write error, after which the loop tries again.
        await once(output, 'drain', { signal: timeLimit }).catch(() => undefined)
      }
    },
  }
}

/**
 * Reads the JSON object on each line of a log. Skips lines without an object, and any text before the object, such as
 * the pod name that some log readers add.
 *
 * @param file the path, or `-` for standard input
 * @throws an error of the file system
 */
export async function* readLog(file: string): AsyncGenerator<object> {
  const chunks: AsyncIterable<string> =
    file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8')
  for await (const line of splitLines(chunks)) {
    const object = parseObject(line)
    if (object) yield object
  }
}

/** Yields the lines of a text. `node:readline` would also end them at U+2028 and U+2029, which JSON strings may contain. */
async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let unfinishedLine = ''
  for await (const chunk of chunks) {
    const lines = `${unfinishedLine}${chunk}`.split('\n')
    unfinishedLine = lines.pop() ?? ''
    yield* lines
  }
  yield unfinishedLine
}

/**
 * An instance stores changes while its clock differs from the database's by up to `MAX_CLOCK_SKEW_MS`. The tolerance is twice that, because
 * the clock may change further before the instance notices it.
 */
const CLOCK_TOLERANCE_MS = 2 * MAX_CLOCK_SKEW_MS

/**
 * Selects the log lines from `since` on, and lines without a time. Also selects lines that are up to a minute older, because the
 * instance that wrote them may have a slow clock. Earlier lines do no harm (docs/runbooks/restore-from-backup.md).
 *
 * @param since a time by the database's clock
 */
export async function* selectLinesSince(lines: AsyncIterable<object>, since: Date): AsyncGenerator<object> {
  for await (const line of lines) {
    const timeMs = 'time' in line && typeof line.time === 'string' ? Date.parse(line.time) : Number.NaN
    if (!(timeMs < since.getTime() - CLOCK_TOLERANCE_MS)) yield line
  }
}

function parseObject(line: string): object | undefined {
  const objectStart = line.indexOf('{')
  if (objectStart < 0) return undefined
  try {
    return JSON.parse(line.slice(objectStart)) as object
  } catch {
    return undefined
  }
}
