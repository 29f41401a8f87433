export { describeAgentInMail, referToAgentInMail } from './agent-in-mail.ts'
export { DOMAIN_CHECKED } from './agent-names.ts'
export { referToApp } from './app-names.ts'
export { renderAnsweredPage, renderAskPage, renderNoAnswersPage } from './ask-page.ts'
export { PREPARE_FOR_ATTORNEY, REPLY_GUIDANCE, renderReplyHelp } from './attorney-help.ts'
export {
  type AgentOnPage,
  getClosedVerificationTitle,
  renderClosedVerificationPage,
  renderVerificationCodePage,
  renderVerificationQuestionPage,
} from './claim-pages.ts'
export { renderConnectPage } from './connect-page.ts'
export { DOCS_HEADERS, DOCS_SCRIPT } from './docs-script.ts'
export {
  ALREADY_ENDED_TITLE,
  type GrantedAccess,
  renderAlreadyRevokedPage,
  renderBrokenRevokeLinkPage,
  renderGrantedAccessPage,
  renderRevokeAccessPage,
  renderRevokedAccessPage,
} from './end-access-pages.ts'
export {
  CONTACT_TOPICS,
  type ContactField,
  renderAlreadyJoinedPage,
  renderContactMailedPage,
  renderContactPage,
  renderJoinedPage,
  renderLinkDonePage,
  renderLinkPage,
  renderWaitlistPage,
} from './form-pages.ts'
export { HELP_PAGES, renderGetHelpPage, renderSpanishHelpPage } from './get-help-page.ts'
export { groupDigits } from './group-digits.ts'
export { formatStaleNotice, renderGuidePage, renderSourceMark } from './guide-page.ts'
export { renderGuidesPage } from './guides-page.ts'
export { type HomePageContent, renderHomePage } from './home-page.ts'
export { type Html, html, rawHtml, toMarkup } from './html.ts'
export { ICON_SVG, IMAGES } from './images.ts'
export { keepTogether, UNBREAKABLE_WORDS } from './keep-together.ts'
export { LEAVE_HEADERS, LEAVE_SCRIPT, NEUTRAL_SITE, renderQuickExit } from './leave-page.ts'
export { formatLongDate } from './long-date.ts'
export { renderNotFoundPage } from './not-found-page.ts'
export { renderChangelogPage, renderPrivacyPage, renderTermsPage } from './policy-and-changelog-pages.ts'
export { renderProblemPage, renderProblemsPage } from './problem-page.ts'
export { PAGE_CSP, type Page, renderPage, STYLESHEET } from './render-page.ts'
export { renderSearchPage } from './search-page.ts'
export { renderScriptElement } from './served-script.ts'
export {
  type AppOnPage,
  renderAllowedPage,
  renderNoCodesLeftPage,
  renderNoSignInPage,
  renderSignInCodePage,
  renderSignInPage,
  SIGN_IN_TITLE,
} from './sign-in-pages.ts'
