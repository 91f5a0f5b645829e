/** `*`, or the origins whose pages may read replies, such as `https://shop.example` (`--cors-origins`). */
export type AllowedOrigins = '*' | readonly string[];
