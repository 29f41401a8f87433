import { longDate } from './long-date.ts'

/** What a mail says about the agent that a person gave access. */
interface AgentInMail {
  /** The agent's own word; nobody checked it. */
  readonly name?: string | undefined
  readonly registeredAt: Date
}

/** Describes an agent in plain text. Its name stands in quotation marks, on a line of its own. */
export const describeAgentInMail = ({ name, registeredAt }: AgentInMail): string =>
  name === undefined
    ? `The agent gave us no name. It registered with us on ${longDate(registeredAt)}.`
    : `The agent calls itself:

   “${defuseName(name)}”

That name is unverified: an agent can give itself any name. It registered with us on
${longDate(registeredAt)}.`

/** Line ends, other controls, and characters that change the direction of text or cannot be seen. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
const QUOTATION_MARKS = /["“”„‟«»]/gu
/** What makes mail programs turn text into a link: `://`, `@`, and a dot before what may be a domain. */
const LINK_PARTS = /:(?=\/\/)|@|[.\u3002\uFF0E\uFF61](?=\p{L}{2})/gu

/**
 * Keeps a name from leaving its quotation marks or its line, and from becoming a link: `evil.example` becomes
 * `evil[.]example`.
 */
const defuseName = (name: string): string =>
  name
    .replaceAll(HIDDEN, ' ')
    .replaceAll(QUOTATION_MARKS, "'")
    .replaceAll(LINK_PARTS, (part) => `[${part}]`)
