/** The gRPC transport: see server.ts for what it offers and wire/server.ts for how it speaks. */
export { HolderLists } from './holder-lists.ts';
export type { OutsideAddresses } from './leader-plane.ts';
export { type GrpcServer, type GrpcServerOptions, startGrpcServer } from './server.ts';
