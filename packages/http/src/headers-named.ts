import type { IncomingMessage } from 'node:http'

/**
 * Every header of a name, also where Node would join or drop some. `headersDistinct` would sort all headers to give those
 * of one name.
 *
 * @param name in lower case
 */
export function headersNamed({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  const found: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index]
    if (sent?.length === name.length && sent.toLowerCase() === name) found.push(rawHeaders[index + 1] ?? '')
  }
  return found
}
