import { getProblemKind, type ProblemCode } from './problems.ts'

const REPEAT_ON_RELOAD =
  'If you sent a form, your browser asks whether to send it again. Confirm this, and what you typed is sent. If you go back ' +
  'instead, the form may be empty.'

/** Replaces the remedies that name headers and tools of API clients. */
const REMEDIES_FOR_PEOPLE: Readonly<Partial<Record<ProblemCode, string>>> = {
  'rate-limited': `Reload this page after this time. ${REPEAT_ON_RELOAD}`,
  unavailable: `Reload this page in a minute. ${REPEAT_ON_RELOAD}`,
  'cross-site-request':
    'Nothing was done. If a page of another site brought you here, close it. If you filled in our own form, go back, reload the ' +
    'page with the form, and send it again.',
  'duplicate-message':
    'You do not need to do anything: we have the message. To say something else, write a different text. To send the same text ' +
    'again, first withdraw the earlier message by the link in our e-mail.',
}

/**
 * Explains a problem to a person who sees it as a page. The default `detail` is the meaning followed by the remedy, which the page
 * shows separately. Any other `detail` says what to do itself, so the remedy, which is for API clients, is left out. A remedy for people is
 * always shown.
 */
export function explainToPerson({ code, detail }: { readonly code: ProblemCode; readonly detail: string }): {
  meaning: string
  remedy: string | undefined
} {
  const { meaning, remedy } = getProblemKind(code)
  const isDefault = detail === `${meaning} ${remedy}`
  return {
    meaning: isDefault ? meaning : detail,
    remedy: REMEDIES_FOR_PEOPLE[code] ?? (isDefault ? remedy : undefined),
  }
}
