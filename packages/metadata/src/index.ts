export {
  AuthorizationServerMetadata,
  authorizationServerMetadata,
  CLIENT_AUTH_METHODS,
  GRANT_TYPES,
} from './authorization-server.ts'
export { isLoopback, Origin } from './origin.ts'
export { type AppName, appFor, PATHS } from './paths.ts'
export {
  API_TITLE,
  API_VERSION,
  ProtectedResourceMetadata,
  protectedResourceMetadata,
} from './protected-resource.ts'
export { type ServiceUrls, serviceUrls } from './service-urls.ts'
