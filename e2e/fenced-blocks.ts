/** Returns the content of the fenced blocks of a language in a Markdown document, in their order. */
export const fencedBlocks = (markdown: string, language: string): string[] =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`$`, 'gm'))].map(
    ([, content = '']) => content,
  )
