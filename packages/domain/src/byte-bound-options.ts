/** Rough values for 64-bit V8, in bytes: an entry of `lru-cache`, an object without its members, and a member. */
const ENTRY_BYTES = 100
const OBJECT_BYTES = 60
const MEMBER_BYTES = 16

/**
 * Returns the options of an `LRUCache` that bound the estimated memory of its entries. Use them where entries differ in size.
 *
 * For a few entries of one size, use `max`, which reserves memory for all of them at once. For many entries of one size, use a
 * `maxSize` with a `sizeCalculation` of 1, which reserves nothing.
 *
 * @param maxBytes the bound; an entry larger than this is not cached
 */
export const createByteBoundOptions = (maxBytes: number) => ({
  maxSize: maxBytes,
  sizeCalculation: (value: unknown, key: string) => estimateEntryBytes(key, value),
})

/** Estimates the memory of a cached entry, in bytes. `value` must not contain a `Map`, which would count as an empty object. */
export const estimateEntryBytes = (key: string, value: unknown): number =>
  ENTRY_BYTES + estimateBytes(key) + estimateBytes(value)

/** Estimates the memory of a value without cycles. Counts two bytes for each character, as V8 needs for letters outside Latin-1. */
function estimateBytes(value: unknown): number {
  if (typeof value === 'string') return MEMBER_BYTES + value.length * 2
  if (typeof value !== 'object' || value === null) return 0
  if (ArrayBuffer.isView(value)) return 2 * OBJECT_BYTES + value.byteLength
  const members = value instanceof Set || Array.isArray(value) ? value : Object.values(value)
  let bytes = OBJECT_BYTES
  for (const member of members) bytes += MEMBER_BYTES + estimateBytes(member)
  return bytes
}
