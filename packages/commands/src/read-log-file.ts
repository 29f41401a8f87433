import { readLog } from '@plainpath/http'
import { createFileErrorHandler, Refusal } from './refusal.ts'

/**
 * Reads the JSON object on each line of the log that an operator named, as `readLog` does. Refuses a log in another format, because a
 * restore would repeat nothing of it.
 *
 * @param file the path, or `-` for standard input
 * @throws {Refusal} if the file cannot be read; after the last line, if no line is one of our logs
 */
export async function* readLogFile(file: string): AsyncGenerator<object> {
  let hasLogLine = false
  try {
    for await (const line of readLog(file)) {
      hasLogLine ||= 'msg' in line
      yield line
    }
  } catch (error) {
    createFileErrorHandler((code) => `${file} cannot be read (${code}). Nothing was changed.`)(error)
  }
  if (!hasLogLine)
    throw new Refusal(
      `${file === '-' ? 'Standard input' : file} is not a log in JSON: no line has an object with "msg". What npm start prints is for people only. Its log for this command is security-events.log in its DATA_DIR. Nothing was changed.`,
    )
}
