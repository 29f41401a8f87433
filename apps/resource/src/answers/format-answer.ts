import { type Answer, type AnswerRequest, formatHelpLine, type Help, mayAskInForm } from '@plainpath/domain'

/**
 * Formats an answer as Markdown for a model. Adds only headings, labels and instructions to the answer's texts.
 *
 * @param options.askPageUrl the URL of the page where the person can answer the questions that no form may ask (see
 *   `mayAskInForm`). Pass it only for a client that can show forms. Without it, the model asks these questions like the others
 * @param options.factsAfterForm all facts of the call, including the person's answers in a form. Pass it only after a form
 */
export function formatAnswer(
  answer: Answer,
  { askPageUrl, factsAfterForm }: { askPageUrl?: string; factsAfterForm?: AnswerRequest['facts'] } = {},
): string {
  const { handOff, outOfScope, passages, check, limits, disclaimer } = answer
  const sensitiveQuestions =
    askPageUrl === undefined ? [] : check.filter(({ trigger }) => !mayAskInForm(trigger))
  const otherQuestions = check.filter((question) => !sensitiveQuestions.includes(question))
  return [
    ...(handOff ? formatHandOff(handOff) : []),
    ...(outOfScope ? formatOutOfScope(outOfScope) : []),
    ...passages.map(formatPassage),
    limits,
    factsAfterForm &&
      `## The person has seen a form\n\nThe \`facts\` are now \`${JSON.stringify(factsAfterForm)}\`. Send them too when you call \`answer_question\` again. A call with \`facts\`, even empty ones, shows no form.`,
    otherQuestions.length > 0 &&
      `## Ask the person these questions, then call \`answer_question\` again with the answers in \`facts\`\n\n${formatQuestions(otherQuestions)}`,
    sensitiveQuestions.length > 0 &&
      `## Show the person these questions, never in a form\n\nThe person does not have to tell you the answers. They can enter them at ${askPageUrl}, which does not store them.\n\n${formatQuestions(sensitiveQuestions)}`,
    disclaimer,
  ]
    .filter((part) => typeof part === 'string')
    .join('\n\n')
}

const formatQuestions = (questions: Answer['check']) =>
  questions.map(({ trigger, ask }) => `- ${ask} (\`${trigger}\`)`).join('\n')

/** Returns the parts of the hand-off. `formatAnswer` drops those that are not strings. */
const formatHandOff = ({ reasons, doNow, findHelp, contact }: NonNullable<Answer['handOff']>) => [
  '# This needs an attorney',
  reasons
    .map(
      ({ trigger, urgency, why, source }) => `- ${why} (\`${trigger}\`, ${urgency}; ${formatLink(source)})`,
    )
    .join('\n'),
  doNow.length > 0 && `## Do now\n\n${doNow.map((line) => `- ${line}`).join('\n')}`,
  formatHelp(findHelp),
  `Write to our staff: ${contact.url} (topic \`${contact.topic}\`)`,
]

/** Returns the parts of a question that is out of scope. `formatAnswer` drops those that are not strings. */
const formatOutOfScope = ({
  reason,
  notices,
  links,
  findHelp,
  nearGuide,
}: NonNullable<Answer['outOfScope']>) => [
  `# No guide answers this (\`${reason}\`)`,
  ...notices.map(({ text }) => text),
  links.length > 0 && links.map((link) => `- ${formatLink(link)}`).join('\n'),
  nearGuide &&
    `A guide about a related subject, which does not answer the question: ${formatLink(nearGuide)}`,
  findHelp.length > 0 && formatHelp(findHelp),
]

const formatHelp = (help: readonly Help[]) =>
  `## Find help\n\n${help.map((entry) => `- ${formatHelpLine(entry)}`).join('\n')}`

function formatPassage({
  guideTitle,
  heading,
  markdown,
  url,
  answers,
  sources,
}: Answer['passages'][number]): string {
  const sourceLines = sources.map(
    (source, index) => `${index + 1}. ${formatLink(source)}. ${source.agency}. Checked ${source.checked}.`,
  )
  const relevanceNote = answers ? '' : ' (covers the subject, but does not answer the question)'
  return `## ${heading}${relevanceNote}\n\n${markdown}\n\nFrom the guide [${guideTitle}](${url})\n\n${sourceLines.join('\n')}`.trimEnd()
}

const formatLink = ({ title, url }: { title: string; url: string }) => `[${title}](${url})`
