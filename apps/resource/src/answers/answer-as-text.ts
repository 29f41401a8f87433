import { type Answer, type Help, helpLine, mayAskInForm } from '@plainpath/domain'

/**
 * Formats an answer as Markdown for a model. It adds headings and labels only, and no statement.
 *
 * @param options.askPage where the person can answer by themselves what no form may ask; given for clients that show forms
 */
export function answerAsText(answer: Answer, { askPage }: { askPage?: string } = {}): string {
  const { handOff, outOfScope, passages, check, limits, disclaimer } = answer
  const asked = askPage === undefined ? check : check.filter(({ trigger }) => mayAskInForm(trigger))
  const sensitive = check.filter((each) => !asked.includes(each))
  return [
    ...(handOff ? handOffParts(handOff) : []),
    ...(outOfScope ? outOfScopeParts(outOfScope) : []),
    ...passages.map(passagePart),
    limits,
    asked.length > 0 && `## Put these to the person, and ask again with \`facts\`\n\n${checkLines(asked)}`,
    sensitive.length > 0 &&
      `## Show these to the person, never in a form\n\nThe answers are theirs to keep, or to type at ${askPage}, which stores none.\n\n${checkLines(sensitive)}`,
    disclaimer,
  ]
    .filter((part) => typeof part === 'string')
    .join('\n\n')
}

const checkLines = (check: Answer['check']) =>
  check.map(({ trigger, ask }) => `- ${ask} (\`${trigger}\`)`).join('\n')

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
