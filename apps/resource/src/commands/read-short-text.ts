import { createReadStream } from 'node:fs'
import { Refusal } from '@plainpath/commands'

/**
 * Reads a short text that must not appear in process lists or shell histories, and trims it. Stops reading soon after
 * `maxCharacters`, but does not refuse a longer text.
 *
 * @param path a file, or `-` for standard input. No error quotes the path, because an operator may pass the text
 *   itself by mistake
 * @param option the option's name, for the refusal
 */
export async function readShortText(path: string, option: string, maxCharacters: number): Promise<string> {
  let text = ''
  try {
    const file = path === '-' ? process.stdin : createReadStream(path)
    for await (const chunk of file.setEncoding('utf8')) {
      text += chunk
      if (text.length > maxCharacters) break
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Refusal(`The file of ${option} cannot be read (${code ?? 'unknown reason'}).`)
  }
  return text.trim()
}
