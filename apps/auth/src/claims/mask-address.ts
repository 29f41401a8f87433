/** For whoever typed it, enough to know it again: `ana@example.org` becomes `a•••@example.org`. */
export function maskAddress(typed: string): string {
  const at = typed.lastIndexOf('@')
  const [first = ''] = typed.slice(0, at)
  return `${first}•••${typed.slice(at)}`
}
