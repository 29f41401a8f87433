import { type Answer, type Help, helpLine } from '@plainpath/domain'

/** Formats an answer as Markdown for a model. It adds headings and labels only, and no statement. */
export function answerAsText(answer: Answer): string {
  const { handOff, outOfScope, passages, check, limits, disclaimer } = answer
  return [
    ...(handOff ? handOffParts(handOff) : []),
    ...(outOfScope ? outOfScopeParts(outOfScope) : []),
    ...passages.map(passagePart),
    limits,
    check.length > 0 &&
      `## Put these to the person, and ask again with \`facts\`\n\n${check.map(({ trigger, ask }) => `- ${ask} (\`${trigger}\`)`).join('\n')}`,
    disclaimer,
  ]
    .filter((part) => typeof part === 'string')
    .join('\n\n')
}

const handOffParts = ({ reasons, doNow, findHelp, contact }: NonNullable<Answer['handOff']>) => [
  '# This needs an attorney',
  reasons
    .map(({ trigger, urgency, why, source }) => `- ${why} (\`${trigger}\`, ${urgency}; ${link(source)})`)
    .join('\n'),
  doNow.length > 0 && `## Do now\n\n${doNow.map((line) => `- ${line}`).join('\n')}`,
  helpPart(findHelp),
  `Write to our staff: ${contact.url} (topic \`${contact.topic}\`)`,
]

const outOfScopeParts = ({
  reason,
  notices,
  links,
  findHelp,
  nearGuide,
}: NonNullable<Answer['outOfScope']>) => [
  `# No guide answers this (\`${reason}\`)`,
  ...notices.map(({ text }) => text),
  links.length > 0 && links.map((each) => `- ${link(each)}`).join('\n'),
  nearGuide && `A guide whose subject is near: ${link(nearGuide)}`,
  findHelp.length > 0 && helpPart(findHelp),
]

const helpPart = (help: readonly Help[]) =>
  `## Find help\n\n${help.map((each) => `- ${helpLine(each)}`).join('\n')}`

function passagePart({ heading, markdown, url, answers, sources }: Answer['passages'][number]): string {
  const listed = sources.map(
    (source, index) => `${index + 1}. ${link(source)}. ${source.agency}. Checked ${source.checked}.`,
  )
  const nearOnly = answers ? '' : ' (near the question, but it does not cover all that was asked)'
  return `## ${heading}${nearOnly}\n\n${markdown}\n\n${url}\n\n${listed.join('\n')}`.trimEnd()
}

const link = ({ title, url }: { title: string; url: string }) => `[${title}](${url})`
