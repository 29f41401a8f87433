import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { link, open, rm, stat } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { z } from 'zod'

/** The first line of a backup. */
export const BackupHeader = z.object({
  plainpath_backup: z.literal(1),
  app: z.enum(['auth', 'resource']),
  /** The time of the backup, by the database's clock. */
  made_at: z.iso.datetime({ offset: true }),
  /** The applied migrations, in their order. */
  migrations: z.array(z.string()).min(1),
})
export type BackupHeader = z.infer<typeof BackupHeader>

const MetadataLine = z.union([
  z.object({ table: z.string(), columns: z.array(z.string()) }),
  /** The position of a sequence. `last` is its `last_value` in decimal digits, and `called` its `is_called`. */
  z.object({ sequence: z.string(), last: z.string(), called: z.boolean() }),
  /** The last line, with the number of all rows in the file. A file without this line is truncated. */
  z.object({ end: z.literal(true), rows: z.int() }),
])
export type BackupLine =
  | z.infer<typeof MetadataLine>
  /** Rows of the last named table, as a JSON array. It is not parsed, because JavaScript would round large numbers. */
  | { readonly rowsJson: string }

/** Thrown if a backup cannot be restored. The message is a sentence for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/**
 * Creates a backup file that only the current user may read. Until `finish`, its name ends in `.unfinished`, so that a process
 * that is killed leaves no incomplete file under the final name. `finish` writes the file to the disk, gives it the final name
 * and returns its size in bytes. Disposing removes the file with the ending.
 *
 * @throws an error of the file system, such as `EEXIST` if the file exists, with or without the ending
 */
export async function createBackupFile(file: string) {
  // `finish` checks this too, but a long backup should not fail only at its end.
  if (existsSync(file))
    throw Object.assign(new Error(`EEXIST: file already exists, open '${file}'`), {
      code: 'EEXIST',
      syscall: 'open',
    })
  const unfinishedFile = `${file}.unfinished`
  const handle = await open(unfinishedFile, 'wx', 0o600)
  const input = new PassThrough()
  const pipelineEnd = pipeline(input, createGzip(), handle.createWriteStream({ flush: true }))
  // Without a handler, a failure between two calls would end the process. `write` or `finish` then throws the same error.
  pipelineEnd.catch(() => undefined)
  return {
    /** Writes a line of JSON. */
    async write(line: string): Promise<void> {
      if (!input.write(`${line}\n`)) await Promise.race([once(input, 'drain'), pipelineEnd])
    },
    async finish(): Promise<number> {
      input.end()
      await pipelineEnd
      // Unlike `rename`, `link` replaces no file that somebody created meanwhile.
      await link(unfinishedFile, file)
      return (await stat(file)).size
    },
    async [Symbol.asyncDispose]() {
      input.destroy()
      await pipelineEnd.catch(() => undefined)
      await rm(unfinishedFile, { force: true })
    },
  }
}

/**
 * Reads the header of a backup.
 *
 * @throws {BackupError} if the file is not a backup or is damaged
 */
export async function readBackupHeader(file: string): Promise<BackupHeader> {
  await using backup = await openBackupFile(file)
  return backup.header
}

/**
 * Opens a backup for reading line by line. `lines` throws at the end of a truncated file.
 *
 * @throws {BackupError} if the file is not a backup or is damaged
 */
export async function openBackupFile(
  file: string,
): Promise<{ header: BackupHeader; lines: AsyncGenerator<BackupLine> } & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const handle = await open(file)
  const input = handle.createReadStream()
  const decompressed = createGunzip()
  const pipelineEnd = pipeline(input, decompressed)
  /** Rejects if reading fails, and never resolves. */
  const failure = pipelineEnd.then(() => new Promise<never>(() => {}))
  // Without a handler, a failure between two reads would end the process. `readLine` reports it.
  failure.catch(() => undefined)
  // Does not wait for `pipelineEnd`: if a stream is destroyed while it works, the pipeline may never end.
  opening.defer(() => {
    input.destroy()
    decompressed.destroy()
  })
  const lineIterator = splitLines(decompressed.setEncoding('utf8'))
  /** Reads the next line; an empty one after the end of the file. */
  const readLine = async () => {
    try {
      const nextLine = await Promise.race([lineIterator.next(), failure])
      return nextLine.done === true ? '' : nextLine.value
    } catch (cause) {
      throw new BackupError('The file is not a backup, or it is damaged.', { cause })
    }
  }
  const { success: isBackup, data: header } = BackupHeader.safeParse(parseJson(await readLine()))
  if (!isBackup) throw new BackupError('The file is not a backup of Plainpath.')
  async function* readLines(): AsyncGenerator<BackupLine> {
    for (;;) {
      const line = await readLine()
      if (line.startsWith(ROWS_BEGIN) && line.endsWith(ROWS_END)) {
        // Keeps the brackets of the array.
        yield { rowsJson: line.slice(ROWS_BEGIN.length - 1, 1 - ROWS_END.length) }
        continue
      }
      const { success: isMetadata, data: metadata } = MetadataLine.safeParse(parseJson(line))
      if (!isMetadata) throw new BackupError('The backup was cut off, or is damaged.')
      yield metadata
      if ('end' in metadata) return
    }
  }
  const resources = opening.move()
  return { header, lines: readLines(), [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/**
 * Yields the lines of a text. Lines end only with a line feed. `node:readline` would also end them at U+2028 and U+2029, which
 * JSON strings may contain.
 */
async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let lineParts: string[] = []
  for await (const chunk of chunks) {
    const [lineEnd = '', ...laterLines] = chunk.split('\n')
    lineParts.push(lineEnd)
    for (const laterLine of laterLines) {
      yield lineParts.join('')
      lineParts = [laterLine]
    }
  }
  yield lineParts.join('')
}

const ROWS_BEGIN = '{"rows":['
const ROWS_END = ']}'

/**
 * Formats rows as a line of the backup.
 *
 * @param rows one JSON object each
 */
export const formatRowsLine = (rows: readonly string[]) => `${ROWS_BEGIN}${rows.join(',')}${ROWS_END}`

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}
