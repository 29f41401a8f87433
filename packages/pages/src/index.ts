export { describeAgentInMail, referToAgentInMail } from './agent-in-mail.ts'
export { DOMAIN_CHECKED } from './agent-names.ts'
export { referToApp } from './app-names.ts'
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
  type LentAccess,
  lentAccessPage,
} from './claim-pages.ts'
export { connectPage } from './connect-page.ts'
export { DOCS_HEADERS, DOCS_SCRIPT } from './docs-script.ts'
export { keepForms } from './form-numbers.ts'
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
export { getHelpPage, HELP_PAGES, spanishHelpPage } from './get-help-page.ts'
export { groupDigits } from './group-digits.ts'
export { guidePage, sourceMark, staleNotice } from './guide-page.ts'
export { guidesPage } from './guides-page.ts'
export { type HomePage, homePage } from './home-page.ts'
export { type Html, html, markupOf, rawHtml } from './html.ts'
export { ICON_SVG, IMAGES } from './images.ts'
export { LEAVE_HEADERS, LEAVE_SCRIPT, leavePage, NEUTRAL_SITE } from './leave-page.ts'
export { longDate } from './long-date.ts'
export { notFoundPage } from './not-found-page.ts'
export { changelogPage, privacyPage, termsPage } from './policy-pages.ts'
export { problemPage, problemsPage } from './problem-page.ts'
export { PAGE_CSP, type Page, renderPage, STYLESHEET } from './render-page.ts'
export { searchPage } from './search-page.ts'
export { scriptElement } from './served-script.ts'
export {
  type AppOnPage,
  allowedPage,
  noCodesLeftPage,
  noSignInPage,
  SIGN_IN_TITLE,
  signInCodePage,
  signInPage,
} from './sign-in-pages.ts'
