/** The memory of an entry of `lru-cache`, of an object without its members, and of a member, in bytes. V8 needs about as much. */
const ENTRY_BYTES = 100
const OBJECT_BYTES = 60
const MEMBER_BYTES = 16

/**
 * Creates the options of an `LRUCache` that bound it by the estimated memory of its entries, since they differ in size. Unlike with
 * a maximum number of entries, an empty cache takes no memory.
 */
export const boundBytes = (maxBytes: number) => ({
  maxSize: maxBytes,
  sizeCalculation: (value: unknown, key: string) => estimateEntryBytes(key, value),
})

/** Estimates the memory of a cached entry, in bytes. */
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
