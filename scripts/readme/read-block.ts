/**
 * Takes a block of commands out of Markdown, so that what is tested is what people copy.
 *
 * @param marker the text of the HTML comment that stands right before the block.
 * @throws when the comment is missing, stands there twice, or is not followed by a fenced block.
 */
export function readBlock(markdown: string, marker: string): string {
  const comment = `<!-- ${marker} -->\n`
  const [, after, ...more] = markdown.split(comment)
  if (after === undefined) throw new Error(`README.md has no comment ${comment.trim()}`)
  if (more.length > 0) throw new Error(`README.md has the comment ${comment.trim()} more than once`)
  const block = /^```(?:bash|sh)\n(.*?)^```$/ms.exec(after)
  if (block?.[1] === undefined || block.index !== 0)
    throw new Error(`README.md has no block of commands right after ${comment.trim()}`)
  return block[1]
}
