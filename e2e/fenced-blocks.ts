/** Returns the contents of a Markdown document's fenced blocks in one language. Omits indented blocks. */
export const extractFencedBlocks = (markdown: string, language: string): string[] =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`$`, 'gm'))].map(
    ([, content = '']) => content,
  )
