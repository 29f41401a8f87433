import { randomBytes } from 'node:crypto'

const PAGE_BYTES = 4096
let page = Buffer.alloc(0)

/**
 * Returns random bytes for keys, secrets and ids, like `randomBytes`. Takes them from a page, because drawing 12 bytes takes as
 * long as drawing a page. No byte is returned twice.
 *
 * @param size 1 to 4096
 * @throws {RangeError} for another size
 */
export function drawRandomBytes(size: number): Buffer {
  if (!Number.isInteger(size) || size < 1 || size > PAGE_BYTES)
    throw new RangeError(`cannot draw ${size} bytes`)
  if (page.length < size) page = randomBytes(PAGE_BYTES)
  const bytes = page.subarray(0, size)
  page = page.subarray(size)
  return bytes
}
