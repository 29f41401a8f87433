export { describeAgentInMail } from './agent-in-mail.ts'
export { answeredPage, askPage, noAnswersPage } from './ask-page.ts'
export { PREPARE_FOR_ATTORNEY, REPLY, replyHelp } from './attorney-help.ts'
export {
  type AgentOnPage,
  ALREADY_ENDED_TITLE,
  alreadyEndedPage,
  brokenEndLinkPage,
  claimCodePage,
  claimQuestionPage,
  closedClaimPage,
  closedClaimTitle,
  endClaimPage,
  endedClaimPage,
} from './claim-pages.ts'
export {
  alreadyJoinedPage,
  CONTACT_TOPICS,
  type ContactField,
  contactMailedPage,
  contactPage,
  joinedPage,
  linkDonePage,
  linkPage,
  waitlistPage,
} from './form-pages.ts'
export { guidePage, staleNotice } from './guide-page.ts'
export { type HomePage, homePage } from './home-page.ts'
export { type Html, html, markupOf, rawHtml } from './html.ts'
export { longDate } from './long-date.ts'
export { changelogPage, privacyPage, termsPage } from './policy-pages.ts'
export { problemPage } from './problem-page.ts'
export { PAGE_CSP, type Page, renderPage, STYLESHEET } from './render-page.ts'
export { searchPage } from './search-page.ts'
