import {
  type Html,
  renderAllowedPage,
  renderAlreadyJoinedPage,
  renderAlreadyRevokedPage,
  renderBrokenRevokeLinkPage,
  renderClosedVerificationPage,
  renderContactMailedPage,
  renderGrantedAccessPage,
  renderJoinedPage,
  renderLinkDonePage,
  renderLinkPage,
  renderNoAnswersPage,
  renderNoCodesLeftPage,
  renderNoSignInPage,
  renderReplyHelp,
  renderRevokeAccessPage,
  renderRevokedAccessPage,
  renderSignInCodePage,
  renderSignInPage,
  renderVerificationCodePage,
  renderVerificationQuestionPage,
} from '@plainpath/pages'

const FORM = { action: '/oauth/sign-in/uid', token: 'token' }
const SITE = {
  destination: { kind: 'site', host: 'a-rather-long-name-of-a-host.chat.example.org' },
  name: 'Atlas',
} as const
const LOOPBACK = { destination: { kind: 'loopback' }, name: 'Atlas', clientHost: 'vscode.dev' } as const
const CODE = {
  ...FORM,
  email: 'somebody.with.a.long.address@mail.example.org',
  attempt: 'cla_x',
  codesLeft: 1,
}
const ACCESS = { secret: 'secret', since: '2026-11-20', until: '2026-12-20' }
const AGENT = { name: 'Atlas', registered: '2026-11-20' }

const CLAIM = { secret: 'secret', matchPhrase: 'grand meadow', codesLeft: 2 }

/** The pages to which a form, a sign-in or a mailed link leads, by name. `SITE_PAGES` does not contain them. */
export const FORM_AND_MAIL_PAGES: Readonly<Record<string, Html>> = {
  'sign-in-address': renderSignInPage({ ...FORM, app: LOOPBACK, lastCodeState: 'locked' }),
  'sign-in-mistake': renderSignInPage({
    ...FORM,
    app: SITE,
    email: 'nobody',
    mistake: 'This is not an e-mail address.',
  }),
  'sign-in-code': renderSignInCodePage({ ...CODE, app: SITE }),
  'sign-in-wrong-code': renderSignInCodePage({
    ...CODE,
    app: LOOPBACK,
    mistake: 'This is not the code.',
    isTooSoon: true,
  }),
  'sign-in-no-codes-left': renderNoCodesLeftPage({ ...FORM, canStillType: true }),
  'sign-in-allowed': renderAllowedPage({ ...FORM, app: SITE }),
  'no-sign-in': renderNoSignInPage(),
  'granted-access': renderGrantedAccessPage({
    secret: 'secret',
    accesses: [AGENT, { ...AGENT, appHost: 'claude.ai' }].map((agent) => ({ ...ACCESS, agent })),
  }),
  claim: renderVerificationQuestionPage({
    ...CLAIM,
    agent: { ...AGENT, name: 'Case helper of the library' },
    wasCodeShown: true,
  }),
  'claim-code': renderVerificationCodePage({ ...CLAIM, agent: AGENT, code: '092827' }),
  'claim-closed': renderClosedVerificationPage('expired'),
  'claim-superseded': renderClosedVerificationPage('superseded', { secretToDecline: 'secret' }),
  'claim-declined': renderClosedVerificationPage('declined'),
  'end-claim': renderRevokeAccessPage({
    ...ACCESS,
    agent: { ...AGENT, verifiedDomain: 'agent.example.org' },
  }),
  'ended-claim': renderRevokedAccessPage({ remainingSecret: 'secret' }),
  'already-ended': renderAlreadyRevokedPage(),
  'just-ended': renderAlreadyRevokedPage({ secretToRepeat: 'secret' }),
  'broken-end-link': renderBrokenRevokeLinkPage(),
  'contact-mailed': renderContactMailedPage(),
  link: renderLinkPage({
    title: 'Send your message',
    text: 'Press the button to send the message that you wrote on our page.',
    action: '/contact/confirm',
    secret: 'secret',
    button: 'Send my message',
  }),
  'link-done': renderLinkDonePage({
    title: 'Your message is sent',
    text: 'It goes to our staff soon.',
    more: renderReplyHelp(),
  }),
  'already-joined': renderAlreadyJoinedPage(),
  joined: renderJoinedPage({ referralUrl: 'https://plainpath.example/?ref=k3v7q2mzt5ndw4ha' }),
  'no-answers': renderNoAnswersPage([]),
}
